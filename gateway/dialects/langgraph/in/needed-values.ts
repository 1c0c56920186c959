interface Showing {
  readonly select?: readonly string[];
  readonly extract?: Readonly<Record<string, string>>;
}

/** What a search of threads has to read of their values: nothing, their fields without messages, or everything. */
export function neededValues({ select, extract = {} }: Showing): 'nothing' | 'fields' | 'everything' {
  if (!select?.length || select.includes('values')) return 'everything';
  const paths = Object.values(extract).filter((path) => path.startsWith('values'));
  if (paths.length === 0) return 'nothing';
  return paths.every((path) => ofField.test(path)) ? 'fields' : 'everything';
}

/** A path into a field that is not the list of messages. */
const ofField = /^values\.(?!messages(?:[.[]|$))[^.[]/;
