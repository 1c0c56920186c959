import type { DatabaseSync } from 'node:sqlite';
import { unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { createCheckpointer } from './checkpoint.ts';
import type { Condition } from './condition.ts';
import { openLogSync, type Written } from './sync.ts';

/** The write-ahead log of a file: what is committed stands there, until it is on disk and later copied into the file. */
interface WriteAheadLog extends Disposable {
  /** Why nothing may be written; `undefined` while the log is sound. */
  readonly refusal: () => ServiceError | undefined;
  /** These writes have been committed. Each settles once it is on disk; `undefined` where the file promises no more than a COMMIT. */
  readonly settle: ((writes: readonly Written[]) => void) | undefined;
  /** So many writes have been committed: from time to time the log is copied into the file. */
  readonly note: (writes: number) => void;
}

interface WriteAheadLogOptions {
  readonly path: string;
  /** `full`: a write settles when it is on disk. `normal`: at once. */
  readonly durability: 'full' | 'normal';
  readonly condition: Pick<Condition, 'fails' | 'works'>;
}

/** Syncs and checkpoints the log of an open file. */
export function openWriteAheadLog(
  db: DatabaseSync,
  { path, durability, condition }: WriteAheadLogOptions,
): WriteAheadLog {
  using opening = new DisposableStack();
  let refusal: ServiceError | undefined;
  const pageBytes = Number(db.prepare('PRAGMA page_size').get()?.['page_size']);
  const frames = (): Readonly<Record<'log' | 'checkpointed', number>> => {
    const row = db.prepare('PRAGMA wal_checkpoint(NOOP)').get();
    return { log: Number(row?.['log']), checkpointed: Number(row?.['checkpointed']) };
  };
  const sync =
    durability === 'full'
      ? opening.use(
          openLogSync(path, {
            frames: () => frames().log,
            onBroken: (error) => {
              condition.fails('sync', error);
              refusal = unavailable('the store cannot be written right now', error);
            },
            onMended: () => {
              condition.works('sync');
              refusal = undefined;
            },
          }),
        )
      : undefined;
  const checkpointer = opening.use(
    createCheckpointer(path, {
      isSound: () => refusal === undefined,
      unsettledBytes: () => {
        const { log, checkpointed } = frames();
        return (log - checkpointed) * pageBytes;
      },
      finish: () => {
        db.exec('PRAGMA wal_checkpoint(PASSIVE)');
      },
      onFailure: (error) => condition.fails('checkpoint', error),
      onSuccess: () => condition.works('checkpoint'),
    }),
  );
  const everything = opening.move();
  return {
    refusal: () => refusal,
    settle: sync?.settle,
    note: checkpointer.note,
    [Symbol.dispose]: () => everything.dispose(),
  };
}
