/** Threads that their owners share with others. */
export { holdShare } from './hold.ts';
export { fromShareId, shareOf, toShareId, type Share } from './share.ts';
export { createShare, deleteShare, findShare, listShares, listSharesWith } from './shares.ts';
export { watchShare } from './watch.ts';
