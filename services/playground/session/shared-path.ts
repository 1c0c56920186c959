const ofThread = /^\/v1\/threads\/[^/?]+/;
const ofGraph = /^\/v1\/graph\/(?=invoke|stream)/;
const below = /^\/v1\/(?=(?:runs|files)(?:[/?]|$))/;

/** Where what the owner of a thread asks for is by a share of it. What is of no thread stays where it is. */
export function sharedPath(path: string, shareId: string): string {
  const shared = `/v1/shared/${encodeURIComponent(shareId)}`;
  if (ofThread.test(path)) return path.replace(ofThread, () => shared);
  return path.replace(ofGraph, () => `${shared}/`).replace(below, () => `${shared}/`);
}
