import { badRequest } from '@agent-workflow/kit/errors';
import type { FileBytes } from './port.ts';

const refused = (): Promise<never> => Promise.reject(badRequest('this service stores no files'));

/** Of a gateway without a folder or bucket: nothing was ever stored, and nothing is. */
export const noFiles = (): FileBytes => ({
  bufferBytes: 0,
  write: refused,
  read: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
});
