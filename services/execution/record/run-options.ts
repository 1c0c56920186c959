import type { RequestContext } from '@agent-workflow/kit/request-context';
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
export interface Accepted extends Pick<RequestContext, 'traceparent' | 'tracestate'> {
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

/** Beside what the request says: when it was accepted, and its initial state where that is not the request's own. */
export interface OptionsParts {
  readonly accepted?: Accepted;
  /** Replaces the initial state of the request. */
  readonly initialState?: JsonObject;
}

/**
 * The options of a run as its record keeps them, which {@link fromOptionsJson} reads. The JSON of the request stands in them as it came:
 * it is neither parsed nor written again.
 */
export function toOptionsJson(request: StartRequest, { accepted, initialState }: OptionsParts): Uint8Array {
  const { configJson, userJson, initialStateJson, resumeJson, tools, recursionLimit } = request;
  const parts: Part[] = [
    ['{"config":', configJson ?? emptyObject],
    [',"user":', userJson ?? emptyObject],
    [',"initialState":', initialState ? toJson(initialState) : (initialStateJson ?? emptyObject)],
    ...(resumeJson ? [[',"resume":', resumeJson] as const] : []),
    [',"tools":[', emptyText],
    ...tools.map(({ nodeName: node, name, description, parametersJson }, index): Part => {
      const named = JSON.stringify({ node, name, description }).slice(0, -1);
      return [`${index === 0 ? '' : '},'}${named},"parameters":`, parametersJson];
    }),
    [tools.length === 0 ? ']' : '}]', emptyText],
    [`,"recursionLimit":${String(recursionLimit)}`, emptyText],
    ...(accepted ? [[',"accepted":', toJson(accepted)] as const] : []),
    ['}', emptyText],
  ];
  return Buffer.concat(parts.flatMap(([text, json]) => [Buffer.from(text), json]));
}

/** A text, and the JSON that follows it. */
type Part = readonly [text: string, json: Uint8Array];

const toJson = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));

const emptyObject = Buffer.from('{}');
const emptyText = Buffer.alloc(0);

export const fromOptionsJson = (json: Uint8Array): RunOptions => fromJson(json) as RunOptions;
