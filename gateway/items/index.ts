export { listNamespaces, searchItems } from './found-items.ts';
export { toItemId, type ItemPlace } from './item-id.ts';
export { itemFilter } from './item-filter.ts';
export { noteOf, settleNote, type ItemParts } from './item-memories.ts';
export { isOver, type Item } from './item.ts';
export { deleteItem, getItem, putItem, removeOver } from './items.ts';
export { wholeValue } from './indexed-text.ts';
