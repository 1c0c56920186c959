/** The bytes of files: where they are stored, how they come in and go out, and the addresses that lead to them. */
export { addressRoute, addressedFiles, byAddress } from './addressed.ts';
export { grantedFiles, runFilesRoute } from './granted.ts';
export { openFileStore, type FileStore } from './open.ts';
export { openOwnFiles } from './own.ts';
export { removeFile } from './remove-file.ts';
export { fileChecks, fileSettings, sharedFileChecks } from './settings.ts';
export { discardFile, storeFile } from './store-file.ts';
export { createRunFiles } from './run-files.ts';
export { openFileSweep } from './sweep.ts';
export { toContent, untilAborted } from './to-content.ts';
export { typeOf } from './media-types.ts';
