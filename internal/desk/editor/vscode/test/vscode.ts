// A stand-in for VS Code, which no registry serves: it has what the test looks at. Each other name is a class that keeps
// its arguments, a function, or a namespace of such names, so that the client of vscode-languageclient runs as it is.
import { fileURLToPath, pathToFileURL } from "node:url";

type Names = Record<string | symbol, unknown>;

class Anything {
  readonly args: unknown[];
  constructor(...args: unknown[]) {
    this.args = args;
  }
  dispose(): void {
    this.args.length = 0;
  }
}

function anything(own: Names = {}): object {
  const made = new Map<string | symbol, object>();
  return new Proxy(Object.assign(class extends Anything {}, own), {
    apply: () => anything(),
    get(target, name, receiver): unknown {
      if (name === "then" || typeof name === "symbol" || name in target) return Reflect.get(target, name, receiver);
      const of = made.get(name) ?? anything();
      made.set(name, of);
      return of;
    },
  });
}

class Uri {
  constructor(readonly text: string) {}
  static file(path: string): Uri {
    return new Uri(pathToFileURL(path).href);
  }
  static parse(text: string): Uri {
    return new Uri(text);
  }
  get fsPath(): string {
    return fileURLToPath(this.text);
  }
  toString(): string {
    return this.text;
  }
}

class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

class EventEmitter extends Anything {
  private readonly listeners: ((event: unknown) => void)[] = [];
  readonly event = (listener: (event: unknown) => void): object => {
    this.listeners.push(listener);
    return anything();
  };
  fire(event: unknown): void {
    this.listeners.forEach((listener) => {
      listener(event);
    });
  }
}

class CancellationTokenSource {
  readonly token = { isCancellationRequested: false, onCancellationRequested: () => anything() };
}

/** What the client gave to the editor. */
export const given = {
  commands: new Map<string, () => Promise<void>>(),
  providers: new Map<string, Names>(),
  diagnostics: new Map<string, { args: [unknown, string] }[]>(),
  errors: [] as string[],
  waiting: [] as (() => void)[],
};

/** What the person set and opened. */
export const has = { path: "", documents: [] as object[] };

const languages = new Proxy(
  {
    match: () => 10,
    createDiagnosticCollection: () =>
      anything({
        dispose() {
          given.diagnostics.clear();
        },
        set(uri: Uri, list: { args: [unknown, string] }[]) {
          given.diagnostics.set(uri.toString(), list);
          given.waiting.splice(0).forEach((done) => {
            done();
          });
        },
      }),
  },
  {
    get: (own: Names, name: string) =>
      own[name] ??
      ((_selector: unknown, provider: Names) => {
        given.providers.set(name, provider);
        return anything();
      }),
  },
);

export const names = {
  Uri,
  Position,
  EventEmitter,
  CancellationTokenSource,
  languages,
  version: "1.91.0",
  commands: anything({
    registerCommand(name: string, run: () => Promise<void>) {
      given.commands.set(name, run);
      return anything();
    },
  }),
  window: anything({
    showErrorMessage(text: string) {
      given.errors.push(text);
      return Promise.resolve(undefined);
    },
  }),
  workspace: anything({
    workspaceFolders: undefined,
    textDocuments: has.documents,
    getConfiguration: () => ({ get: (_name: string, preset: unknown) => has.path || preset }),
  }),
};

export default anything(names);
