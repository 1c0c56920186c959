import { isUtf8 } from 'node:buffer';
import { MIMEType } from 'node:util';
import { badRequest, ServiceError } from '@agent-workflow/kit/errors';

/** The most that a form has before the bytes of its file, in bytes: the headers of its part, and the line before them. */
const maxBytes = 16 * 1024;

/** The most headers of a part. */
const maxHeaders = 20;

/** What a parser of forms is to keep of the headers of a part: more is refused before it comes to that. */
export const headLimits = { headerSize: maxBytes, headerPairs: maxHeaders };

const lineEnd = '\r\n';
const headEnd = '\r\n\r\n';

/** What is looked at of a form before the bytes of its file. */
interface HeadGuard {
  readonly read: (chunk: Buffer) => void;
  /** Whether the part says of what type its file is; known when the first of its bytes come. A parser of forms gives one that says nothing as text. */
  readonly isTyped: () => boolean;
}

/**
 * Bounds what a form has before the bytes of its file. The chunks of the form are given as they come, the first first.
 * @throws TooLarge for headers that are too large or too many; BadRequest for headers that are no UTF-8, of which a name of replacement
 * characters would be stored, and for a content type without a boundary.
 */
export function createHeadGuard(contentType: string): HeadGuard {
  // A form begins as if a line had ended: the boundary of its first part may be its first line.
  const boundary = `${lineEnd}--${boundaryOf(contentType)}`;
  let head: Buffer | undefined = Buffer.from(lineEnd);
  let isTyped = false;
  const read = (chunk: Buffer): void => {
    if (!head) return;
    const room = maxBytes + boundary.length - head.byteLength;
    head = Buffer.concat([head, chunk.subarray(0, room)]);
    const begin = head.indexOf(boundary);
    const end = begin < 0 ? -1 : head.indexOf(headEnd, begin);
    if (end < 0) {
      if (room < chunk.byteLength) throw tooLarge(`larger than ${String(maxBytes)} bytes`);
      return;
    }
    const lines = head.subarray(begin + lineEnd.length, end);
    const [, ...headers] = lines.toString('latin1').split(lineEnd);
    if (headers.length > maxHeaders) throw tooLarge(`more than ${String(maxHeaders)}`);
    if (!isUtf8(lines)) throw badRequest('the headers of the part of the form are not valid UTF-8');
    isTyped = headers.some((header) => /^content-type\s*:/i.test(header));
    head = undefined;
  };
  return { read, isTyped: () => isTyped };
}

const tooLarge = (why: string): ServiceError =>
  new ServiceError('TooLarge', `the headers of the part of the form are ${why}`);

function boundaryOf(contentType: string): string {
  const absent = (cause?: unknown): ServiceError =>
    new ServiceError('BadRequest', 'the header of the form has no boundary', { cause });
  let boundary: string | null;
  try {
    boundary = new MIMEType(contentType).params.get('boundary');
  } catch (error) {
    throw absent(error);
  }
  if (boundary === null) throw absent();
  return boundary;
}
