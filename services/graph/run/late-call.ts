/** What a node, or a tool in it, published after it had returned. That is dropped. */
export interface LateCall {
  /** A node of a sub-graph is named by its path. */
  readonly node: string;
  readonly tool?: string;
  readonly what: 'emit' | 'progress';
}

/** What is said of a late call, behind who made it. */
export const lateWords: Readonly<Record<LateCall['what'], string>> = {
  emit: 'emitted after it had ended, which is dropped: it must await what emits',
  progress: 'called progress() after it had ended, which is dropped: it must await what calls it',
};
