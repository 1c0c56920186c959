import { faultText, fromUnknown } from '@agent-workflow/kit/errors';
import type { Dialect, Refusal, RefusalReply, Replied } from '../../../http/dialect.ts';
import type { Loc } from '../../../http/fields.ts';
import { nowText } from '../../../http/json.ts';
import { wireCodeOf } from './errors.ts';
import { toWireError } from './fields.ts';

const headers = ['Content-Type', 'application/json; charset=utf-8'];

/** The envelope of a success. */
export const envelope: Dialect['envelope'] = (replied) => ['{"data":', `,"metadata":${metadata(replied, '"OK"')}}`];

/** The error envelope. */
export function refuse(refusal: Refusal, replied: Replied): RefusalReply {
  const { message, details } = toWireError(refusal);
  const error = JSON.stringify({ code: wireCodeOf(refusal.code), message, details });
  const body = `{"error":${error},"metadata":${metadata(replied, JSON.stringify(message))}}`;
  return { status: refusal.status, headers, body };
}

/** Why one part of a request was refused, in the words of the error envelope. `place` is where the part stands in the body. */
export function partRefusal(thrown: unknown, place: Loc): object {
  const error = fromUnknown(thrown);
  const { message, details } = toWireError(error);
  const inPart = (loc: Loc): Loc => (loc[0] === 'body' ? ['body', ...place, ...loc.slice(1)] : loc);
  const [first] = details;
  const namesField = first !== undefined && message === faultText(first.loc, first.msg);
  return {
    code: wireCodeOf(error.code),
    message: namesField ? faultText(inPart(first.loc), first.msg) : message,
    details: details.map((detail) => ({ ...detail, loc: inPart(detail.loc) })),
  };
}

function metadata({ requestId, replyMetadata = {} }: Replied, usual: string): string {
  const { message, ...entries } = replyMetadata;
  const more = Object.keys(entries).length === 0 ? '' : `,${JSON.stringify(entries).slice(1, -1)}`;
  const text = message === undefined ? usual : JSON.stringify(message);
  return `{"message":${text},"request_id":${JSON.stringify(requestId)},"timestamp":${nowText()}${more}}`;
}
