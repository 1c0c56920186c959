import { invalidAt, type Loc } from '../../../http/fields.ts';

/** A checkpoint as their requests name it. */
export interface NamedCheckpoint {
  readonly checkpoint_id?: unknown;
  readonly checkpoint_ns?: unknown;
}

/** @throws Invalid for a checkpoint of a sub-graph */
export function refuseNamespace(checkpoint: NamedCheckpoint | undefined, loc: Loc): void {
  const namespace = checkpoint?.checkpoint_ns ?? '';
  if (namespace === '') return;
  throw invalidAt([...loc, 'checkpoint', 'checkpoint_ns'], 'must be empty: a sub-graph has no checkpoints of its own');
}
