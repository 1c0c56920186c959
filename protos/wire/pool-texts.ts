import { isServiceError, type ErrorDetail, type ServiceError } from '@agent-workflow/kit/errors';
import type { Rpc } from './definitions.ts';
import { poolChecks, poolMessages } from './pool-checks.ts';

type Field = ErrorDetail['field'];

type Message = Readonly<Record<string, unknown>>;

/** Says why a request of a pool is refused: Invalid at the first value that is none of its kind. */
export function poolTextFault({ requestType }: Rpc): (request: object) => ServiceError | undefined {
  const { name } = requestType.type as { readonly name: string };
  return (request) => {
    try {
      checkMessage(name, request as Message, []);
      return undefined;
    } catch (error) {
      if (isServiceError(error, 'Invalid')) return error;
      throw error;
    }
  };
}

function checkMessage(name: string, given: Message, at: Field): void {
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
