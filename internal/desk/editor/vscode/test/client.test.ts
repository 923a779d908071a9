// The extension starts the real program. FUNCTION_EXPORT is its path.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { ExtensionContext } from "vscode";
import { activate, deactivate } from "../src/extension";
import { given, has, names } from "./vscode";

const path = "../testdata/composition.yaml";
const lines = readFileSync(path, "utf8").split("\n");
const line = lines.findIndex((text) => text.includes("resourcee"));
const document = {
  uri: names.Uri.file(path),
  languageId: "yaml",
  version: 1,
  isClosed: false,
  getText: () => lines.join("\n"),
};
const context = { subscriptions: [] } as unknown as ExtensionContext;
const none = { isCancellationRequested: false, onCancellationRequested: () => undefined };

type Ask = (...args: unknown[]) => Promise<unknown>;

function ask(provider: string, method: string, ...args: unknown[]): Promise<unknown> {
  const asked = given.providers.get(`register${provider}Provider`)?.[`provide${method}`] as Ask | undefined;
  assert.ok(asked, `${provider} is not registered`);
  return asked(document, ...args, none, {});
}

async function diagnosed(): Promise<string[]> {
  await new Promise<void>((done) => given.waiting.push(done));
  return given.diagnostics.get(document.uri.toString())?.map((d) => d.args[1]) ?? [];
}

void test("a program that is not installed is an error with its remedy", async () => {
  has.path = "./no-such-program";
  await activate(context);
  assert.match(given.errors.join(), /set functionExport.path/);
});

void test("the program finds mistakes, completes and explains", { timeout: 60_000 }, async () => {
  has.path = process.env["FUNCTION_EXPORT"] ?? "function-export";
  has.documents.push(document);
  const found = diagnosed();
  await given.commands.get("functionExport.restart")?.();
  assert.match((await found).join(), /resourcee/);

  const at = new names.Position(line, (lines[line] ?? "").indexOf("resourcee") + "resou".length);
  assert.match(JSON.stringify(await ask("CompletionItem", "CompletionItems", at)), /resources/);
  const user = lines.findIndex((text) => text.includes("secret.username"));
  const on = new names.Position(user, (lines[user] ?? "").indexOf("secret") + 1);
  assert.match(JSON.stringify(await ask("Hover", "Hover", on)), /connection details/i);

  await deactivate();
  assert.equal(given.diagnostics.size, 0);
});
