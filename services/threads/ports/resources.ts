import type { ResourceKind } from '@agent-workflow/protos/lists';
import type { PageLimits } from './lists.ts';

/** Names one object that an owner keeps beside threads. The object of another owner is absent. */
export interface ResourceKey {
  readonly kind: ResourceKind;
  readonly owner: string;
  /** A UUIDv7, or a name that a caller gave. */
  readonly id: string;
}

/** An object as it is on record. Times are in milliseconds since 1970. */
export interface ResourceRow extends ResourceKey {
  /** Counts the writes of the object, from the version with which it was made. */
  readonly version: number;
  /** A store does not read it. */
  readonly json: Uint8Array;
  /** The time of the version with which it was made. */
  readonly createdAt: number;
  /** The time of this version. */
  readonly updatedAt: number;
  /** When a sweep is to look at the object; absent: never. */
  readonly dueAt?: number;
}

/** One version of an object, as it is written. */
export interface ResourceWrite extends Omit<ResourceRow, 'createdAt' | 'updatedAt'> {
  readonly at: number;
  /** The id of this write, a UUID: made again it is known as the same. */
  readonly attempt: string;
  /** Makes the object with this version; version 1 does so in any case. */
  readonly isNew?: boolean | undefined;
  /** The object has this version alone, and all that make it write the same: a store needs no condition. */
  readonly isFinal?: true;
}

/** A page of due objects begins after this one, in order of due time, owner and id. */
export interface DueResourceMark {
  readonly dueAt: number;
  readonly owner: string;
  readonly id: string;
}

/** An object without what it holds. */
export type ResourceMark = Pick<ResourceRow, 'id' | 'updatedAt' | 'dueAt'>;

/** Which ids of a list are meant. */
export interface IdRange {
  /** Only ids from this one on, in the order of their bytes. */
  readonly from?: string | undefined;
  /** Only ids before this one. */
  readonly after?: string | undefined;
}

export interface DueResource extends DueResourceMark {
  readonly version: number;
}

/** The port of the objects that an owner keeps beside threads. Each is written on condition of its version. */
export interface ResourceRecords {
  readonly getResource: (key: ResourceKey) => Promise<ResourceRow | undefined>;
  /**
   * Writes the object if the stored one has one version less, or if there is none and the write makes it. Of several that write the same version
   * one succeeds, and succeeds again when it is made a second time before the next version. @returns the `at` of the write that succeeded;
   * `undefined` when nothing was written.
   *
   * A sweep may miss for a minute what is written with a `dueAt` that is past by more than some seconds.
   */
  readonly putResource: (write: ResourceWrite) => Promise<number | undefined>;
  /** Removes the object if it has this version. @returns whether it did so. */
  readonly deleteResource: (key: ResourceKey, version: number) => Promise<boolean>;
  /** The objects of one kind and owner by id, descending: of ids that are UUIDv7 the newest first. They follow `after`. */
  readonly listResources: (
    of: Pick<ResourceKey, 'kind' | 'owner'>,
    page: PageLimits & IdRange,
  ) => Promise<readonly ResourceRow[]>;
  /** The same, without reading what the objects hold. */
  readonly listResourceMarks: (
    of: Pick<ResourceKey, 'kind' | 'owner'>,
    page: IdRange & { readonly limit: number },
  ) => Promise<readonly ResourceMark[]>;
  /** How many objects of one kind the owner has; those beyond `atMost` are not counted. */
  readonly countResources: (of: Pick<ResourceKey, 'kind' | 'owner'>, atMost: number) => Promise<number>;
  /** At most `limit` objects of one kind of all owners that are due at `until` or before, by due time, owner and id, following `after`. */
  readonly listDueResources: (
    kind: ResourceKind,
    page: { readonly until: number; readonly after?: DueResourceMark | undefined; readonly limit: number },
  ) => Promise<readonly DueResource[]>;
}
