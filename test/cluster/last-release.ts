/** The commit of the last release, which is set at each release: clusters are upgraded from it under load, and its pools work on. */
export const lastRelease = 'ff91573a42eaf9f6374c93464e229a5e85d0c849';
