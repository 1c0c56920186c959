import type { Trail } from '@agent-workflow/kit/trail';
import type { StartRequest } from '@agent-workflow/protos/execution';

/** What a run is to be run with: kept on its record from acceptance to the last claim. */
export interface RunOptions {
  readonly config: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
  readonly initialState: Readonly<Record<string, unknown>>;
  readonly tools: readonly RemoteToolOption[];
  readonly recursionLimit: number;
  /** Answers what the thread's interrupted run asked; the key is absent when nothing is answered. */
  readonly resume?: unknown;
  /** When it was accepted, and in which trace; absent where that was not noted. */
  readonly accepted?: Accepted;
}

/** A run's beginning, for whoever claims it, whenever that is: nothing is decided by it. */
export interface Accepted extends Pick<Trail, 'traceparent' | 'tracestate'> {
  /** Milliseconds since 1970, by the clock of whoever accepted it. */
  readonly at: number;
}

export interface RemoteToolOption {
  readonly node: string;
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The value of JSON bytes. */
export const fromJson = (json: Uint8Array): unknown =>
  JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString());

const objectOf = (json: Uint8Array | undefined): JsonObject => (json ? (fromJson(json) as JsonObject) : {});

export const toRunOptions = (request: StartRequest): RunOptions => ({
  config: objectOf(request.configJson),
  user: objectOf(request.userJson),
  initialState: objectOf(request.initialStateJson),
  tools: request.tools.map(({ nodeName, name, description, parametersJson }) => ({
    node: nodeName,
    name,
    description,
    parameters: objectOf(parametersJson),
  })),
  recursionLimit: request.recursionLimit,
  ...(request.resumeJson ? { resume: fromJson(request.resumeJson) } : {}),
});

export const toOptionsJson = (options: RunOptions): Uint8Array => Buffer.from(JSON.stringify(options));

export const fromOptionsJson = (json: Uint8Array): RunOptions => fromJson(json) as RunOptions;
