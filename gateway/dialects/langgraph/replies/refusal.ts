import { ServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import { otherShape } from '../../../http/body.ts';
import type { Refusal, RefusalReply } from '../../../http/dialect.ts';

const headers = ['Content-Type', 'application/json'];

/** The type of a detail that is the whole text of a refusal. */
const wholeText = 'whole_text';

/** An error that this dialect answers with exactly this text. */
export const refusalWith = (code: ErrorCode, text: string): ServiceError =>
  new ServiceError(code, text, { details: [{ field: [], msg: text, type: wholeText }] });

/** The type of a detail that is the whole body of a refusal. */
const wholeBody = 'whole_body';

/** The same, as a text without anything around it. */
export const bareRefusal = (code: ErrorCode, text: string): ServiceError =>
  new ServiceError(code, text, { details: [{ field: [], msg: text, type: wholeBody }] });

/** Whether an error has a text of its own. */
export const hasWholeText = ({ details }: ServiceError): boolean => details.some(({ type }) => type === wholeText);

/** An error as LangGraph Server sends it: `{"detail": text}`. A request that makes no sense is 422 there, and never 400. */
export function refuse(refusal: Refusal): RefusalReply {
  const status = refusal.code === 'BadRequest' ? 422 : refusal.status;
  const [first] = refusal.details ?? [];
  const body = first?.type === wholeBody ? first.msg : { detail: textOf(refusal) };
  return { status, headers, body: JSON.stringify(body) };
}

function textOf({ code, message, details = [] }: Refusal): string {
  const [first] = details;
  if (first?.type === wholeText) return first.msg;
  if (first?.type === 'json_invalid' && !first.msg.startsWith(otherShape)) return 'Invalid JSON in request body';
  if (code === 'NotFound') return 'Not Found';
  if (code === 'MethodNotAllowed') return 'Method Not Allowed';
  return message;
}
