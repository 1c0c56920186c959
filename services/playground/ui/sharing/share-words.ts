import type { Share } from '@agent-workflow/client';

/** `reads, writes and answers`, as a recipient does. */
export function rightsText(rights: Share['rights']): string {
  const words = ['reads', rights.includes('write') && 'writes', rights.includes('answer') && 'answers'].filter(
    (word) => word !== false,
  );
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${String(words.at(-1))}`;
}

/** `bob`, `all who have the role support`, `everybody who signs in`. */
export function recipientText(to: Share['to']): string {
  if ('user' in to) return to.user;
  return 'role' in to ? `all who have the role ${to.role}` : 'everybody who signs in';
}

/** What the reader may do by a share: `You may read it, write and answer.` */
export function yoursText({ rights }: Pick<Share, 'rights'>): string {
  const more = [rights.includes('write') && 'write', rights.includes('answer') && 'answer'].filter(
    (word) => word !== false,
  );
  return more.length === 0 ? 'You read it' : `You read it, and may ${more.join(' and ')}`;
}
