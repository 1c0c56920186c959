import { idPattern, maxIdLength } from '@agent-workflow/protos/message';
import { Type, type Static, type TProperties, type TSchema } from 'typebox';

/** A JSON object of any shape. */
export const JsonObject = Type.Unsafe<Record<string, unknown>>({ type: 'object' });

/** Any JSON value. */
export const Json = Type.Unknown();

/** One of a closed list of words. */
export const words = <const T extends readonly string[]>(options: T, extras: Record<string, unknown> = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...options], ...extras });

export const nullable = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] });

/** An object that other fields may stand in; `title` names it in the OpenAPI document. */
export const record = <P extends TProperties>(title: string, properties: P) => Type.Object(properties, { title });

/** Whatever is named so can be addressed in a path. */
const idRules = { maxLength: maxIdLength, format: 'well-formed' };

/** Beyond these JSON numbers are rounded, so that two different identifiers would become one. */
const idNumbers = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** An identifier as it stands in a path. */
export const Id = Type.String({ title: 'Id', minLength: 1, pattern: idPattern, ...idRules });

/** An identifier in a body, where a number stands for its decimal text. */
export const BodyId = Type.Unsafe<string | number>({
  title: 'BodyId',
  type: ['string', 'number'],
  minLength: 1,
  pattern: idPattern,
  ...idRules,
  ...idNumbers,
});

/** A message's identifier in a body: null, empty and 0 ask for a new one. */
export const NewId = Type.Unsafe<string | number | null>({
  title: 'NewId',
  type: ['string', 'number', 'null'],
  pattern: `^$|${idPattern}`,
  ...idRules,
  ...idNumbers,
});

/** The largest page; a larger `limit` is lowered to it. */
export const maxLimit = 1000;

export const limitOf = (fallback: number) => Type.Integer({ minimum: 1, default: fallback });
export const Offset = Type.Integer({ minimum: 0, default: 0 });
export const Cursor = Type.String({ minLength: 1, maxLength: 2048 });

/** Whether a list has more behind its page, and where it goes on: a page ends by its limit, or by its bytes. */
export const paged = {
  has_more: Type.Boolean({ description: 'Whether there is more: go on with `cursor`, or at `offset` plus what came' }),
  cursor: Type.Optional(Cursor),
};

/** The page that a list was asked for. */
export const paging = { offset: Offset, limit: limitOf(100), cursor: Type.Optional(Cursor) };

export const Timestamp = Type.String({ format: 'date-time' });

export const ResponseMetadata = record('ResponseMetadata', {
  message: Type.String(),
  request_id: Type.String(),
  timestamp: Timestamp,
  incomplete_since: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        'Of a memory search, while the store repairs its index after a restart: memories written since this time may be missing',
    }),
  ),
});

export const ErrorBody = record('Error', {
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    details: Type.Array(
      record('ErrorDetail', {
        loc: Type.Array(Type.Unsafe<string | number>({ type: ['string', 'integer'] })),
        msg: Type.String(),
        type: Type.String(),
      }),
    ),
  }),
  metadata: ResponseMetadata,
});

export const Done = record('Done', { success: Type.Boolean() });
