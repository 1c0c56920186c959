import type { Refusal, RefusalReply } from '../../../http/dialect.ts';

const headers = ['Content-Type', 'application/json; charset=utf-8'];

/** Why a request was refused, before a stream has begun: AG-UI leaves the form open, and its clients show status and text. */
export function refuse({ code, status, message, details = [] }: Refusal): RefusalReply {
  const fields = details.map(({ field, msg }) => ({ field: field.join('.'), message: msg }));
  return { status, headers, body: JSON.stringify({ error: { code, message, ...(fields.length > 0 && { fields }) } }) };
}
