/**
 * The commit of the last release, which is set at each release: clusters are upgraded from it under load, and its pools work on. `undefined`
 * until there is a release.
 */
export const lastRelease: string | undefined = 'e4313b5b';
