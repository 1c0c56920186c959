import { badRequest } from '@agent-workflow/kit/errors';
import type { FileBytes } from './port.ts';

const refused = (): Promise<never> => Promise.reject(badRequest('this service stores no files'));

/** Of a gateway without a folder or bucket: it stores nothing, and removes nothing that others have stored. */
export const noFiles = (): FileBytes => ({
  bufferBytes: 0,
  write: refused,
  read: () => Promise.resolve(undefined),
  check: () => Promise.resolve(),
  remove: refused,
  [Symbol.asyncDispose]: () => Promise.resolve(),
});
