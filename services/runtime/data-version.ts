import { ConfigError } from '@agent-workflow/kit/env';

/** The version of a store after its first migration, which makes the whole schema. */
const firstVersion = 100;

/** The last commit that reads stores of lower versions. */
const lastCommitBefore = '47ea5d51';

/** A migration, with the version that a store has after it. */
interface NumberedMigration<T> {
  readonly version: number;
  readonly migration: T;
}

/** The version of a store that has all of `migrations`. */
export const newestVersion = (migrations: readonly unknown[]): number => firstVersion + migrations.length - 1;

/**
 * Those of `migrations`, oldest first, that a store of this version lacks. An empty store has version 0.
 * @throws ConfigError, in one line that names the store, when the version is not one of this release.
 */
export function missingMigrations<T>(
  migrations: readonly T[],
  version: number,
  store: string,
): readonly NumberedMigration<T>[] {
  refuseOldVersion(version, store);
  const known = newestVersion(migrations);
  if (version > known)
    throw new ConfigError(
      `${store}: the data was written by a newer version (schema ${String(version)}, known ${String(known)})`,
    );
  return migrations
    .map((migration, index) => ({ version: firstVersion + index, migration }))
    .filter((each) => each.version > version);
}

/** @throws ConfigError, in one line that names the store, when no release has written a store of this version. */
export function refuseOldVersion(version: number, store: string): void {
  if (version > 0 && version < firstVersion)
    throw new ConfigError(
      `${store}: the data has schema ${String(version)}, and the last commit that reads it is ${lastCommitBefore}`,
    );
}
