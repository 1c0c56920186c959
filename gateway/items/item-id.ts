/** Where an item stands: labels from the outside in, and a name that is its own there. */
export interface ItemPlace {
  /** At least one label, each without a dot and not empty. */
  readonly namespace: readonly string[];
  readonly key: string;
}

/** The id of an item on record: of those below a namespace all begin with it. */
export const toItemId = ({ namespace, key }: ItemPlace): string => `${namespace.join('.')}..${key}`;

/** The place of an item by its id. Labels have no dots, so that the first two dots that follow each other end the namespace. */
export function fromItemId(id: string): ItemPlace {
  const end = id.indexOf('..');
  return { namespace: id.slice(0, end).split('.'), key: id.slice(end + 2) };
}

/** The ids of the items at or below a namespace: from the first on, and before the second. */
export function idsBelow(namespace: readonly string[]): { readonly fromId?: string; readonly belowId?: string } {
  if (namespace.length === 0) return {};
  const name = namespace.join('.');
  // The character behind the dot.
  return { fromId: `${name}.`, belowId: `${name}/` };
}
