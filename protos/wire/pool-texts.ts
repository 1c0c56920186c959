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
/** The most nodes of one list. */
const maxNodes = 10_000;

const isIdName = (field: string): boolean => field === 'owner' || field.endsWith('Id');
const isNodes = (field: string): boolean => ['names', 'first', 'nodes', 'next'].includes(field);

/** Texts that name something are short, and lists of them have a bound, also in fields whose content nobody reads. */
function refuseLong(given: Message, at: Field): void {
  for (const [field, found] of Object.entries(given)) {
    const place = [...at, field];
    if (typeof found === 'string' && isIdName(field)) refuseLongText(found, place);
    else if (Array.isArray(found)) refuseLongList(found, place, isNodes(field) ? maxNodes : maxIds);
    else if (isObject(found) && !(found instanceof Uint8Array)) refuseLong(found, place);
  }
}

function refuseLongText(text: string, at: Field): void {
  if (text.length > maxIdBytes || Buffer.byteLength(text) > maxIdBytes)
    throw invalid(at, `must not have more than ${String(maxIdBytes)} bytes`, 'string_too_long');
}

function refuseLongList(items: readonly unknown[], at: Field, most: number): void {
  if (items.length > most) throw invalid(at, `must not have more than ${String(most)} entries`, 'too_long');
  for (const [index, item] of items.entries()) {
    if (typeof item === 'string') refuseLongText(item, [...at, index]);
    else if (isObject(item) && !(item instanceof Uint8Array)) refuseLong(item, [...at, index]);
  }
}

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
