import { fileURLToPath } from 'node:url';
import { logVerbosity, setLogVerbosity, type MethodDefinition } from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { executionPools, executionRetries, type Execution } from '../execution.ts';
import { memoryPools, memoryRetries, type Memory } from '../memory.ts';
import type { PoolRule } from '../pools.ts';
import type { RetryRule } from '../retry.ts';
import { threadsPools, threadsRetries, type Threads } from '../threads.ts';

/** The contexts and the service that each speaks. */
export interface Services {
  readonly threads: Threads;
  readonly execution: Execution;
  readonly memory: Memory;
}

export type Context = keyof Services;

// Failures are thrown or answered; gRPC would print some of them beside that, in a format of its own.
setLogVerbosity(logVerbosity.NONE);

/** One RPC as gRPC knows it, with the types of its messages. */
export interface Rpc extends MethodDefinition<object, object> {
  readonly requestType: MessageType;
  readonly responseType: MessageType;
}

export interface MessageType {
  readonly type: unknown;
}

/** The RPCs of a service by name. */
export type Definition = Readonly<Record<string, Rpc>>;

/** How gRPC reads and writes the service of a context, from its `.proto`. Absent optional fields stay absent. */
export function definitionOf(context: Context): Definition {
  const known = definitions.get(context);
  if (known) return known;
  // The file of the memory service stands alone. Of the two others one imports the other, and who needs one mostly needs all.
  for (const [name, definition] of readDefinitions(context === 'memory' ? ['memory'] : contexts))
    definitions.set(name, definition);
  return definitionOf(context);
}

const contexts: readonly Context[] = ['threads', 'execution', 'memory'];

/** To read them takes tens of milliseconds. */
const definitions = new Map<Context, Definition>();

function readDefinitions(names: readonly Context[]): (readonly [Context, Definition])[] {
  const files = names.map((name) => fileURLToPath(new URL(`../${name}.proto`, import.meta.url)));
  const loaded = protoLoader.loadSync(files, {
    keepCase: false,
    longs: Number,
    enums: String,
    defaults: true,
    arrays: true,
    objects: true,
    oneofs: false,
  });
  // The loader's type covers messages and enums too; the name of a service leads to a service.
  return names.map((name) => [name, loaded[serviceName(name)] as unknown as Definition]);
}

const retryRules: Readonly<Record<Context, Readonly<Record<string, RetryRule>>>> = {
  threads: threadsRetries,
  execution: executionRetries,
  memory: memoryRetries,
};

/** Whether a call of this method may be made again. */
export function retryRuleOf(context: Context, method: string): RetryRule {
  const rule = retryRules[context][method];
  if (!rule) throw new Error(`${context} has no method ${method}`);
  return rule;
}

const poolRules: Readonly<Record<Context, Readonly<Record<string, PoolRule>>>> = {
  threads: threadsPools,
  execution: executionPools,
  memory: memoryPools,
};

/** What a pool may call of this method; one without a rule it may not call. */
export const poolRuleOf = (context: Context, method: string): PoolRule => poolRules[context][method] ?? 'never';

/** The full name of a context's service, as health checks ask for it. */
export const serviceName = (context: Context): string =>
  `agent_workflow.${context}.v1.${context.charAt(0).toUpperCase()}${context.slice(1)}`;

/** The name of an RPC as a method of the service object. */
export const methodName = (rpc: string): string => rpc.charAt(0).toLowerCase() + rpc.slice(1);

/**
 * The most fields of one request with those of the messages in it, where each entry of a list is one. Many times what a step of a thread has
 * whose context is as large as it may be.
 */
const maxFields = 300_000;

/** The wire type of what has its length in front. */
const delimited = 2;

/**
 * Reads the requests of an RPC, none with very many fields: an entry of two bytes becomes an object of a hundred, and that takes time before
 * anything of it can be checked. Only lengths are counted, of the request and of what is directly in it.
 * @throws RangeError
 */
export function boundedReader({ requestType, requestDeserialize }: Rpc): (bytes: Buffer) => object {
  const { field: fields } = requestType.type as { readonly field: readonly DescribedField[] };
  const messages = new Set(fields.flatMap(({ number, type }) => (type === 'TYPE_MESSAGE' ? [number] : [])));
  return (bytes) => {
    const reader = protobuf.Reader.create(bytes);
    let left = maxFields;
    const countTo = (end: number, inner: ReadonlySet<number> | undefined): void => {
      while (reader.pos < end) {
        if (left-- === 0) throw new RangeError(`more than ${String(maxFields)} fields`);
        const key = reader.uint32();
        if (inner?.has(key >>> 3) && (key & 7) === delimited) countTo(reader.uint32() + reader.pos, undefined);
        else reader.skipType(key & 7);
      }
    };
    countTo(reader.len, messages);
    return requestDeserialize(bytes);
  };
}

interface DescribedField {
  readonly number: number;
  readonly type: string;
}
