import { invalid, type ServiceError } from '@agent-workflow/kit/errors';
import { executionLists } from '../execution.ts';
import { isIn, lists, type MessageLists } from '../lists.ts';
import { memoryLists } from '../memory.ts';
import { threadsLists } from '../threads.ts';
import type { Context, MessageType, Rpc } from './definitions.ts';

const listsOf: Readonly<Record<Context, MessageLists>> = {
  threads: threadsLists,
  execution: executionLists,
  memory: memoryLists,
};

type Message = Record<string, unknown>;

/** Finds the first value of a message that is not of the list its field has. */
type FindFault = (message: Message) => ServiceError | undefined;

/** `undefined` where no field of the message is of a list. */
function finderOf(context: Context, name: string): FindFault | undefined {
  const fields = listsOf[context][name];
  if (!fields) return undefined;
  const finders = Object.entries(fields).map(([field, list]): FindFault => {
    if (typeof list !== 'string') {
      // Made at the first use, because messages may hold each other.
      let find: FindFault | undefined;
      return (message) => eachOf(message[field], (value) => (find ??= finderOf(context, list.of))?.(value));
    }
    const allowed = lists[list];
    return (message) => {
      const value = message[field];
      if (value === undefined || isIn(allowed, value)) return undefined;
      if (Array.isArray(value) && value.every((each) => isIn(allowed, each))) return undefined;
      return invalid([field], `must be one of ${allowed.join(', ')}`, 'enum');
    };
  });
  return (message) => {
    for (const find of finders) {
      const fault = find(message);
      if (fault) return fault;
    }
    return undefined;
  };
}

function eachOf(value: unknown, find: FindFault): ServiceError | undefined {
  if (!Array.isArray(value)) return value ? find(value as Message) : undefined;
  for (const item of value) {
    const fault = find(item as Message);
    if (fault) return fault;
  }
  return undefined;
}

/**
 * Says why a request that came over gRPC is refused: Invalid at the first message that it must hold and does not, else at the first value
 * that is not of its field's list. Proto3 lets a caller leave any field out; a text or a number is empty or 0 then, and a service that reads a
 * field of an absent message would fail.
 */
export function requestFault(context: Context, rpc: Rpc): (request: object) => ServiceError | undefined {
  const find = finderOf(context, nameOf(rpc.requestType));
  // gRPC reads an absent message as null. Fields that are `optional` it leaves out.
  const required = Object.entries(rpc.requestDeserialize(Buffer.alloc(0)))
    .filter(([, value]) => value === null)
    .map(([field]) => field);
  return (request) => {
    const absent = required.find((field) => (request as Message)[field] === null);
    return absent === undefined ? find?.(request as Message) : invalid([absent], 'must be present', 'missing');
  };
}

/** The RPC, whose replies are refused where a value of theirs is not of its field's list: the server is of another version. */
export function withCheckedReplies(context: Context, rpc: Rpc): Rpc {
  const find = finderOf(context, nameOf(rpc.responseType));
  if (!find) return rpc;
  const responseDeserialize = (bytes: Buffer): object => {
    const reply = rpc.responseDeserialize(bytes);
    const fault = find(reply as Message);
    if (fault) throw fault;
    return reply;
  };
  return { ...rpc, responseDeserialize };
}

const nameOf = ({ type }: MessageType): string => (type as { readonly name: string }).name;
