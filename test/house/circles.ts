import { posix } from 'node:path';
import { workspaceOf, type Arrow } from './tree.ts';

/** The names that stand on a circle of arrows, or on a way from one circle to another. */
export function inCircles(arrows: readonly Arrow[]): string[] {
  const froms = new Set(arrows.map(([from]) => from));
  const tos = new Set(arrows.map(([, to]) => to));
  const kept = arrows.filter(([from, to]) => tos.has(from) && froms.has(to));
  return kept.length === arrows.length ? [...froms].toSorted() : inCircles(kept);
}

/** The arrows between folders of one workspace that arrows between files make. */
export const betweenFolders = (arrows: readonly Arrow[]): Arrow[] =>
  arrows
    .map(([from, to]): Arrow => [posix.dirname(from), posix.dirname(to)])
    .filter(([from, to]) => from !== to && workspaceOf(from) === workspaceOf(to));

/**
 * The circles inside a workspace, one text for each folder that has some: those of its files and subfolders that import each
 * other, directly or through others. A subfolder counts as a whole. Without a circle, its files and folders form layers.
 */
export function circlesIn(workspace: string, arrows: readonly Arrow[]): string[] {
  const own = arrows.filter((arrow) => arrow.every((file) => file.startsWith(`${workspace}/`)));
  const folders = new Set(own.flat().flatMap((file) => foldersOf(file, workspace)));
  return [...folders].toSorted().flatMap((folder) => {
    const childOf = (file: string): string | undefined =>
      file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split('/')[0] : undefined;
    const between = own.flatMap(([from, to]) => {
      const [one, other] = [childOf(from), childOf(to)];
      return one === undefined || other === undefined || one === other ? [] : [[one, other] as const];
    });
    const left = inCircles(between);
    return left.length === 0 ? [] : [`${folder}/: ${left.join(', ')}`];
  });
}

/** The folders that a file stands in, from its own up to `top`. */
const foldersOf = (file: string, top: string): readonly string[] => {
  const folder = posix.dirname(file);
  return folder === top ? [top] : [folder, ...foldersOf(folder, top)];
};
