import { invalid, type ServiceError } from '@agent-workflow/kit/errors';
import type { Rpc } from './definitions.ts';

/**
 * Finds the first message that a request over gRPC must hold and does not: Invalid at its field, `undefined` when all are there. Proto3 lets a
 * caller leave any field out; a text or a number is empty or 0 then, and a service that reads a field of an absent message would fail.
 */
export function absentFault({ requestDeserialize }: Rpc): (request: object) => ServiceError | undefined {
  // gRPC reads an absent message as null. Fields that are `optional` it leaves out.
  const required = Object.entries(requestDeserialize(Buffer.alloc(0)))
    .filter(([, value]) => value === null)
    .map(([field]) => field);
  return (request) => {
    const absent = required.find((field) => (request as Readonly<Record<string, unknown>>)[field] === null);
    return absent === undefined ? undefined : invalid([absent], 'must be present', 'missing');
  };
}
