const versions: ReadonlySet<string> = new Set([
  ...['http://json-schema.org/draft-04/schema', 'http://json-schema.org/draft-06/schema'],
  ...['http://json-schema.org/draft-07/schema', 'https://json-schema.org/draft/2019-09/schema'],
  'https://json-schema.org/draft/2020-12/schema',
]);

/** Whether a schema's `$schema` names a version of JSON Schema that is evaluated here, as `http` or `https`. */
export const isKnownVersion = (named: unknown): boolean => {
  const address = String(named).replace(/#$/, '');
  return [address, address.replace(/^https:/, 'http:'), address.replace(/^http:/, 'https:')].some((each) =>
    versions.has(each),
  );
};

export const knownVersions = [...versions].join(', ');
