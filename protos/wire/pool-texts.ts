import { invalid, isServiceError, type ErrorDetail, type ServiceError } from '@agent-workflow/kit/errors';
import type { Rpc } from './definitions.ts';
import { poolBounds, poolChecks, poolMessages } from './pool-checks.ts';

type Field = ErrorDetail['field'];

type Message = Readonly<Record<string, unknown>>;

/** Says why a request of a pool is refused: Invalid at the first value that is none of its kind. */
export function poolTextFault({ requestType }: Rpc): (request: object) => ServiceError | undefined {
  const { name } = requestType.type as { readonly name: string };
  return (request) => {
    try {
      refuseLong(request as Message, []);
      checkMessage(name, request as Message, []);
      return undefined;
    } catch (error) {
      if (isServiceError(error, 'Invalid')) return error;
      throw error;
    }
  };
}

/** The most bytes of an owner or an id. */
const maxIdBytes = 8 * 1024;
/** The most ids of one list: a context of small messages may have as many. */
const maxIds = 100_000;
/** The most nodes or open tool calls of one list. */
const maxWaiting = 10_000;

const isIdName = (field: string): boolean => field === 'owner' || field.endsWith('Id');
const isWaiting = (field: string): boolean => ['names', 'first', 'nodes', 'next', 'openCalls'].includes(field);
/** A character has at most three bytes: most texts need not be counted. */
const isLong = (text: string): boolean => text.length * 3 > maxIdBytes && Buffer.byteLength(text) > maxIdBytes;

/** Texts that name something are short, and lists of them have a bound, also in fields whose content nobody reads. */
function refuseLong(given: Message, at: Field): void {
  for (const [field, found] of Object.entries(given)) {
    if (typeof found === 'string') {
      if (isIdName(field) && isLong(found)) throw longText([...at, field]);
    } else if (Array.isArray(found)) refuseLongList(found, [...at, field], isWaiting(field) ? maxWaiting : maxIds);
    else if (isObject(found) && !(found instanceof Uint8Array)) refuseLong(found, [...at, field]);
  }
}

function refuseLongList(items: readonly unknown[], at: Field, most: number): void {
  if (items.length > most) throw invalid(at, `must not have more than ${String(most)} entries`, 'too_long');
  for (const [index, item] of items.entries()) {
    if (typeof item === 'string') {
      if (isLong(item)) throw longText([...at, index]);
    } else if (isObject(item) && !(item instanceof Uint8Array)) refuseLong(item, [...at, index]);
  }
}

const longText = (at: Field): ServiceError =>
  invalid(at, `must not have more than ${String(maxIdBytes)} bytes`, 'string_too_long');

function checkMessage(name: string, given: Message, at: Field): void {
  poolBounds[name]?.(given, at);
  for (const [field, check] of Object.entries(poolChecks[name] ?? {})) {
    const found = given[field];
    if (found === undefined) continue;
    // A map has a value under each of its keys.
    if (isObject(found) && !(found instanceof Uint8Array))
      for (const [key, one] of Object.entries(found)) check(one as never, [...at, field, key], given);
    else check(found as never, [...at, field], given);
  }
  for (const [field, type] of Object.entries(poolMessages[name] ?? {})) {
    const found = given[field];
    if (Array.isArray(found))
      for (const [index, one] of found.entries()) checkMessage(type, one as Message, [...at, field, index]);
    else if (isObject(found)) checkMessage(type, found, [...at, field]);
  }
}

const isObject = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
