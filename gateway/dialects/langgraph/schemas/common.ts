import { Type } from '../../common/builders.ts';

/** A JSON object of any shape. */
export const JsonObject = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: 'object',
  additionalProperties: true,
});

/** Any JSON value. */
export const Json = Type.Unknown();

/** A list of texts. */
export const texts = (most: number) => Type.Array(Type.String({ maxLength: 1024 }), { maxItems: most });

/** One of a closed list of words. */
export const word = <const T extends readonly string[]>(words: T, options: object = {}) =>
  Type.Unsafe<T[number]>({ enum: [...words], ...options });

/** The fields that a request selects of what it gets; none is all. */
export const selectOf = <const T extends readonly string[]>(fields: T) =>
  Type.Optional(Type.Array(word(fields), { maxItems: 32 }));

/** An id in a path. */
export const PathId = Type.String({ minLength: 1, maxLength: 256 });

/** The most items of a page, whatever its `limit`. */
export const mostItems = 1000;

/** The part of a list that a request asks for. */
export const paging = {
  limit: Type.Integer({ minimum: 1, maximum: mostItems, default: 10 }),
  offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
};

/** In which direction a list is sorted. */
export const sortOrder = Type.Optional(word(['asc', 'desc']));
