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

/** An object, which may have further fields. `title` is its name in the OpenAPI document. */
export const objectOf = <P extends TProperties>(title: string, properties: P) => Type.Object(properties, { title });

/** Ids that follow these rules can be part of a path. */
const idRules = { maxLength: maxIdLength, format: 'well-formed' };

/** Larger JSON numbers are rounded: two different ids could become the same. */
const idNumbers = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** An id in a path. */
export const Id = Type.String({ title: 'Id', minLength: 1, pattern: idPattern, ...idRules });

/** An id in a body, where a number counts as its decimal text. */
export const BodyId = Type.Unsafe<string | number>({
  title: 'BodyId',
  type: ['string', 'number'],
  minLength: 1,
  pattern: idPattern,
  ...idRules,
  ...idNumbers,
});

/** A message id in a body: null, `""` and 0 mean a new one. */
export const NewId = Type.Unsafe<string | number | null>({
  title: 'NewId',
  type: ['string', 'number', 'null'],
  pattern: `^$|${idPattern}`,
  ...idRules,
  ...idNumbers,
});

/** The largest page size; a larger `limit` is lowered to it. */
export const maxLimit = 1000;

export const limitOf = (fallback: number) => Type.Integer({ minimum: 1, default: fallback });
const Offset = Type.Integer({ minimum: 0, default: 0 });
const Cursor = Type.String({ minLength: 1, maxLength: 2048 });

/** Whether there is a next page, and its cursor. A page ends at its limit or at its largest byte size. */
export const paged = {
  has_more: Type.Boolean({ description: 'Whether there is more: go on with `cursor`, or at `offset` plus what came' }),
  cursor: Type.Optional(Cursor),
};

/** The query of a page of a list. */
export const paging = { offset: Offset, limit: limitOf(100), cursor: Type.Optional(Cursor) };

export const Timestamp = Type.String({ format: 'date-time' });

export const ResponseMetadata = objectOf('ResponseMetadata', {
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

export const ErrorBody = objectOf('Error', {
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    details: Type.Array(
      objectOf('ErrorDetail', {
        loc: Type.Array(Type.Unsafe<string | number>({ type: ['string', 'integer'] })),
        msg: Type.String(),
        type: Type.String(),
      }),
    ),
  }),
  metadata: ResponseMetadata,
});

export const Done = objectOf('Done', { success: Type.Boolean() });
