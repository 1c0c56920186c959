/**
 * Whether searches by keywords miss memories on a server of this version, given as `1.38.6`; the README says which. One that cannot be read
 * counts as new.
 */
export function missesKeywords(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major * 1e6 + minor * 1e3 + patch < 1_038_006;
}
