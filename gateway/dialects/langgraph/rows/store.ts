import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { invalidAt } from '../../../http/fields.ts';
import {
  deleteItem,
  getItem,
  itemFilter,
  listNamespaces,
  putItem,
  searchItems,
  toItemId,
  wholeValue,
  type ItemPlace,
} from '../../../items/index.ts';
import { boundedBytes } from '../../common/bounded.ts';
import { toStoreItem } from '../out/store-item.ts';
import { bareRefusal } from '../replies/refusal.ts';
import * as schemas from '../schemas/store.ts';
import { row } from './row.ts';

const read = { resource: 'store', action: 'read' } as const;

/** The place that a request names. @throws Invalid for a label that is none, and for a place that is too long */
function placeOf({ namespace, key }: ItemPlace): ItemPlace {
  refuseLabels(namespace);
  if (!isText(key)) throw invalidAt(['key'], 'must be text without the character U+0000');
  refuseOver(Buffer.byteLength(key), keyBytes, ['key']);
  refuseOver(Buffer.byteLength(toItemId({ namespace, key })), sizes.itemId, ['namespace']);
  return { namespace, key };
}

const keyBytes = 512;

/** What every store can keep. */
const isText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

function refuseLabels(labels: readonly string[]): void {
  const wrong = labels.find((label) => label === '' || label.includes('.') || !isText(label));
  if (wrong !== undefined)
    throw bareRefusal('Invalid', `Namespace label '${wrong}' must be a non-empty string without periods`);
}

const putStoreItem = row({
  name: 'lgPutItem',
  method: 'PUT',
  path: '/langgraph/store/items',
  access: { resource: 'store', action: 'write' },
  input: schemas.PutItem,
  status: 204,
  handle: async ({ owner, input, call }, services) => {
    const { value, ttl, index = [wholeValue] } = input;
    if (!Array.isArray(index) && index !== false)
      throw invalidAt(['body', 'index'], 'must be false, or a list of paths');
    boundedBytes(value, ['body', 'value'], sizes.item);
    const given = { value, ...(index !== false && { index }), ...(ttl !== undefined && { ttl }) };
    await putItem(services, { owner, call, ...placeOf(input), ...given });
    return '';
  },
});

const deleteStoreItem = row({
  name: 'lgDeleteItem',
  method: 'DELETE',
  path: '/langgraph/store/items',
  access: { resource: 'store', action: 'delete' },
  input: schemas.DeleteItem,
  status: 204,
  handle: async ({ owner, input, call }, services) => {
    await deleteItem(services, { owner, call, ...placeOf(input) });
    return '';
  },
});

const getStoreItem = row({
  name: 'lgGetItem',
  method: 'GET',
  path: '/langgraph/store/items',
  access: read,
  input: schemas.ItemQuery,
  handle: async ({ owner, input, call }, services) => {
    const place = placeOf({ namespace: input.namespace.split('.'), key: input.key });
    const refreshes = !['false', '0'].includes(input.refresh_ttl ?? '');
    const item = await getItem(services, { owner, call, ...place, refreshes });
    return JSON.stringify(item ? toStoreItem(item) : null);
  },
});

/** Says that a reply lacks what was not looked at. */
function notePartial({ addReplyHeaders }: Pick<EndpointRequest, 'addReplyHeaders'>, isPartial: boolean): void {
  if (isPartial) addReplyHeaders({ 'X-Search-Partial': 'true' });
}

const searchStoreItems = row({
  name: 'lgSearchItems',
  method: 'POST',
  path: '/langgraph/store/items/search',
  access: read,
  input: schemas.SearchItems,
  handle: async (request, services) => {
    const { owner, input, call } = request;
    const {
      namespace_prefix: namespace = [],
      filter,
      query = '',
      limit,
      offset,
      refresh_ttl: refreshes = true,
    } = input;
    refuseLabels(namespace);
    const passes = itemFilter(filter, ['body', 'filter']);
    const words = query.trim() === '' ? undefined : query.toWellFormed();
    const search = { owner, call, namespace, passes, query: words, limit, offset, refreshes };
    const { items, isPartial } = await searchItems(services, search);
    notePartial(request, isPartial);
    return JSON.stringify({ items: items.map((item) => ({ ...toStoreItem(item), score: item.score })) });
  },
});

const listItemNamespaces = row({
  name: 'lgListNamespaces',
  method: 'POST',
  path: '/langgraph/store/namespaces',
  access: read,
  input: schemas.ListNamespaces,
  handle: async (request, services) => {
    const { owner, input, call } = request;
    const { prefix = [], suffix = [], max_depth: maxDepth, limit, offset } = input;
    refuseLabels([...prefix, ...suffix]);
    const listed = await listNamespaces(services, { owner, call, prefix, suffix, maxDepth, limit, offset });
    notePartial(request, listed.isPartial);
    return JSON.stringify({ namespaces: listed.namespaces });
  },
});

export const storeRows = [putStoreItem, deleteStoreItem, getStoreItem, searchStoreItems, listItemNamespaces];
