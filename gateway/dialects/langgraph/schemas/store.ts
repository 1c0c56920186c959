import { Type } from '../../common/builders.ts';
import { JsonObject, mostItems, paging, word } from './common.ts';

/** Labels of a namespace. */
const mostLabels = 16;

const place = {
  namespace: Type.Array(Type.String({ maxLength: 1024 }), { minItems: 1, maxItems: mostLabels }),
  key: Type.String({ minLength: 1, maxLength: 512 }),
};

/** `false`: the item is not found by its meaning. Absent: by that of its whole value. */
const index = Type.Unsafe<false | readonly string[]>({
  type: ['boolean', 'array'],
  items: { type: 'string', minLength: 1, maxLength: 256 },
  maxItems: 20,
});

export const PutItem = Type.Object({
  ...place,
  value: JsonObject,
  index: Type.Optional(index),
  ttl: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 5_256_000 })),
});

export const DeleteItem = Type.Object(place);

export const ItemQuery = Type.Object({
  namespace: Type.String({ minLength: 1, maxLength: 1024 }),
  key: place.key,
  refresh_ttl: Type.Optional(word(['true', 'false', '1', '0'])),
});

const labels = Type.Array(Type.String({ maxLength: 1024 }), { maxItems: mostLabels });

export const SearchItems = Type.Object({
  ...paging,
  namespace_prefix: Type.Optional(labels),
  filter: Type.Optional(JsonObject),
  query: Type.Optional(Type.String()),
  refresh_ttl: Type.Optional(Type.Boolean()),
});

export const ListNamespaces = Type.Object({
  prefix: Type.Optional(labels),
  suffix: Type.Optional(labels),
  max_depth: Type.Optional(Type.Integer({ minimum: 1, maximum: mostLabels })),
  limit: Type.Integer({ minimum: 1, maximum: mostItems, default: 100 }),
  offset: paging.offset,
});
