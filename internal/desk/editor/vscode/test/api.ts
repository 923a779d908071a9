import names from "./vscode";

export = names;
