import { existsSync } from 'node:fs';
import { constants, enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Beside the modules of the image, which fills it while it is made (`deploy/pack/compile.ts`). Nowhere else does it exist. */
const brought = fileURLToPath(new URL('../../compiled', import.meta.url));

/**
 * Keeps compiled code between starts. What is imported after this call is found there. Node puts it in a folder for its version, the
 * kind of processor and the user: where the image brings none for these, it is kept in the folder for temporary files.
 */
export function keepCompiledCode(): void {
  if (existsSync(brought)) {
    const { status } = enableCompileCache({ directory: brought, portable: true });
    if (status !== constants.compileCacheStatus.FAILED) return;
  }
  enableCompileCache();
}
