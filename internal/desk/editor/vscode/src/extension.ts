// The extension starts the program that the command line and the cluster run, as a language server for YAML files.
// Everything that an editor shows comes from there. The grammar in syntaxes/ only colors expressions.
import * as vscode from "vscode";
import { LanguageClient, RevealOutputChannelOn } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

/** Starts the language server. It is called when the first YAML file is opened. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("functionExport.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("functionExport")) {
        void restart();
      }
    }),
  );
  await start();
}

/** Stops the language server. */
export async function deactivate(): Promise<void> {
  const stopped = client;
  client = undefined;
  await stopped?.dispose();
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

async function start(): Promise<void> {
  const command = vscode.workspace.getConfiguration("functionExport").get("path", "function-export");
  const started = new LanguageClient(
    "function-export",
    "function-export",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "yaml" }],
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    },
  );
  client = started;
  try {
    await started.start();
  } catch (cause) {
    client = undefined;
    const text = `Cannot start "${command} lsp": ${String(cause)}. Install function-export, or set functionExport.path.`;
    if ((await vscode.window.showErrorMessage(text, "Open settings")) !== undefined) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "functionExport.path");
    }
  }
}
