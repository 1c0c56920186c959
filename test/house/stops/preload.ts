/* eslint-disable @typescript-eslint/unbound-method -- methods of Node's prototypes are called with their own `this` */
/**
 * Preloaded into a standalone process: instruments the tree in `STOPS_TREE`, and writes which function calls which into
 * the folder `STOPS_OUT`, in `invoke.json` from a request with the header `x-stops` to the commit of its step, in `emit.json`
 * from the `emit` of a node to the write of that text to the socket.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Server, ServerResponse } from 'node:http';
import { registerHooks } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { marker } from './marker.ts';
import { instrument, type Traced } from './instrument.ts';
import type { Call, Recording } from './recording.ts';

const tree = process.env['STOPS_TREE'] ?? '';
const out = process.env['STOPS_OUT'] ?? '';
const ours = new RegExp(`^${pathToFileURL(tree).href}/(gateway|protos|services)/(?!.*node_modules).*\\.ts$`);

interface Loaded {
  readonly lineStarts: readonly number[];
  readonly firstId: number;
  readonly count: number;
}

const functions: Traced[] = [];
const loaded = new Map<string, Loaded>();

registerHooks({
  resolve(specifier, context, next) {
    const isAgent = context.parentURL === new URL('./agent.ts', import.meta.url).href;
    return isAgent && specifier.startsWith('@agent-workflow/')
      ? next(specifier, { ...context, parentURL: pathToFileURL(`${tree}/services/standalone/main.ts`).href })
      : next(specifier, context);
  },
  load(url, context, next) {
    if (!ours.test(url)) return next(url, context);
    const file = fileURLToPath(url);
    const text = readFileSync(file, 'utf8');
    const { code, functions: found } = instrument(file.slice(tree.length + 1), text, functions.length);
    loaded.set(url, { lineStarts: lineStartsOf(code), firstId: functions.length, count: found.length });
    functions.push(...found);
    return { format: 'module', source: code, shortCircuit: true };
  },
});

let calls: Call[] | undefined;
/** The last call of each function. */
let lastCalls = new Map<number, number>();
let ends = new Set<number>();
/** The function that scheduled the callback which runs now. */
let scheduledBy: number | undefined;
/** Whether the node of the measured run is done. */
let hasReturned = false;

function begin(): void {
  calls = [];
  lastCalls = new Map();
  ends = new Set();
  hasReturned = false;
}

function finish(name: string): void {
  if (calls === undefined) return;
  const used = new Set(calls.flatMap(({ from, to }) => [from, to]));
  const recording: Recording = {
    calls,
    ends: [...ends],
    functions: Object.fromEntries(functions.flatMap((traced, id) => (used.has(id) ? [[id, traced]] : []))),
  };
  calls = undefined;
  writeFileSync(`${out}/${name}.json`, JSON.stringify(recording));
}

/** The functions of ours on the stack, innermost first; those that only wait for the others stand at the end. */
function stack(): number[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = 60;
  Error.prepareStackTrace = (_error, frames) => frames;
  const holder: { stack?: NodeJS.CallSite[] } = {};
  Error.captureStackTrace(holder, stack);
  const frames = holder.stack ?? [];
  Error.prepareStackTrace = prepareStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  return frames.flatMap((frame) => {
    const place = loaded.get(frame.getScriptNameOrSourceURL() ?? '') ?? loaded.get(frame.getFileName() ?? '');
    const start = place?.lineStarts[(frame.getLineNumber() ?? 0) - 1];
    if (place === undefined || start === undefined) return [];
    const at = start + (frame.getColumnNumber() ?? 1) - 1;
    const id = innermost(place, at);
    return id === undefined ? [] : [id];
  });
}

/** The function that stands around an offset: of those that hold it, the one that begins last. */
function innermost({ firstId, count }: Loaded, at: number): number | undefined {
  for (let id = firstId + count - 1; id >= firstId; id -= 1) {
    const traced = functions[id];
    if (traced !== undefined && traced.from <= at && at < traced.to) return id;
  }
  return undefined;
}

function lineStartsOf(code: string): number[] {
  const starts = [0];
  for (let at = code.indexOf('\n'); at !== -1; at = code.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

Object.assign(globalThis, {
  entered(id: number) {
    if (calls === undefined) return;
    const from =
      stack()
        .slice(1)
        .find((other) => other !== id) ?? scheduledBy;
    if (from === undefined) return;
    const by = lastCalls.get(from);
    const madeBy = lastCalls.get(functions[id]?.inside ?? -1);
    lastCalls.set(id, calls.length);
    calls.push({ to: id, from, ...(by === undefined ? {} : { by }), ...(madeBy === undefined ? {} : { madeBy }) });
  },
  stops: { begin, returned: () => void (hasReturned = true) },
});

// A callback that runs later is called by the function that schedules it.
for (const name of ['setImmediate', 'setTimeout', 'queueMicrotask'] as const) {
  const schedule = globalThis[name] as (callback: (...args: unknown[]) => void, ...rest: unknown[]) => unknown;
  Object.assign(globalThis, {
    [name]: (callback: (...args: unknown[]) => void, ...rest: unknown[]) => {
      const [by] = calls === undefined ? [] : stack();
      const run = (...args: unknown[]): void => {
        scheduledBy = by;
        try {
          callback(...args);
        } finally {
          scheduledBy = undefined;
        }
      };
      return schedule(run, ...rest);
    },
  });
}

// Where an invoke ends: what is written to the record until the first commit after its node returned.
const record = new WeakSet<StatementSync>();
const { prepare, exec } = DatabaseSync.prototype;
const { run, get, all } = StatementSync.prototype;
const isRecord = (database: DatabaseSync): boolean => database.location()?.includes('threads') === true;
DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...args: Parameters<typeof prepare>) {
  const statement = prepare.apply(this, args);
  if (isRecord(this) && /^\s*(insert|update|delete|replace)/i.test(args[0])) record.add(statement);
  if (isRecord(this) && /^\s*commit/i.test(args[0])) commits.add(statement);
  return statement;
};
const commits = new WeakSet<StatementSync>();
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  exec.call(this, sql);
  if (isRecord(this) && /^\s*commit/i.test(sql)) committed();
};
const wrote = (statement: StatementSync): void => {
  if (calls === undefined) return;
  const [by = -1] = stack();
  const call = lastCalls.get(by);
  if (record.has(statement) && call !== undefined) ends.add(call);
  if (commits.has(statement)) committed();
};
function committed(): void {
  if (calls === undefined || !hasReturned) return;
  hasReturned = false;
  finish('invoke');
}
Object.assign(StatementSync.prototype, {
  run(this: StatementSync, ...args: unknown[]) {
    const result: unknown = Reflect.apply(run, this, args);
    wrote(this);
    return result;
  },
  get(this: StatementSync, ...args: unknown[]) {
    const result: unknown = Reflect.apply(get, this, args);
    wrote(this);
    return result;
  },
  all(this: StatementSync, ...args: unknown[]) {
    const result: unknown = Reflect.apply(all, this, args);
    wrote(this);
    return result;
  },
});

// Where an invoke begins, and where an emitted text ends.
const emitEvent = Server.prototype.emit;
Server.prototype.emit = function (this: Server, name: string, ...args: unknown[]) {
  const [request] = args as [{ headers?: Record<string, unknown> } | undefined];
  if (name === 'request' && request?.headers?.['x-stops'] !== undefined) begin();
  return Reflect.apply(emitEvent, this, [name, ...args]) as boolean;
} as typeof emitEvent;
const { write } = ServerResponse.prototype;
ServerResponse.prototype.write = function (this: ServerResponse, ...args: Parameters<typeof write>) {
  if (calls !== undefined && Buffer.from(args[0] as string | Uint8Array).includes(marker)) finish('emit');
  return write.apply(this, args);
} as typeof write;
