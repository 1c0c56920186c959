import { faultText, isServiceError, ServiceError, type ErrorDetail } from '@agent-workflow/kit/errors';

type Field = ErrorDetail['field'];

/** Calls the record. @throws what it throws; where that names fields of its request, `toOurs` names those of ours. */
export async function withFields<T>(work: Promise<T>, toOurs: (field: Field) => Field): Promise<T> {
  return work.catch((error: unknown) => {
    throw isServiceError(error, 'Invalid') ? renamed(error, toOurs) : error;
  });
}

function renamed({ message, details, cause }: ServiceError, toOurs: (field: Field) => Field): ServiceError {
  const ours = details.map((detail) => ({ ...detail, field: toOurs(detail.field) }));
  const [theirs] = details;
  const [first] = ours;
  const namesField = theirs && first && message === faultText(theirs.field, theirs.msg);
  const text = namesField ? faultText(first.field, first.msg) : message;
  return new ServiceError('Invalid', text, { details: ours, cause });
}

/**
 * A field of the messages that the record was given, of which the first `count` are the context at `at` and the others the messages of the
 * request. A fault of all of them is one of `at` when there are no others.
 */
export const messageField =
  (at: Field, count: number, hasOthers: boolean) =>
  (field: Field): Field => {
    const [name, index, ...rest] = field;
    if (name !== 'messages') return field;
    if (typeof index !== 'number') return hasOthers ? field : [...at, ...field.slice(1)];
    return index < count ? [...at, index, ...rest] : [name, index - count, ...rest];
  };
