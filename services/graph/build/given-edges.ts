import { START } from './names.ts';
import { nameOf } from '../state/name-of.ts';

/** What JavaScript lets pass as the ends of an edge: what is no name, as a constant that a module does not export, and a list of targets. */
export function requireEdge(from: unknown, to: unknown): void {
  if (typeof from !== 'string' && !Array.isArray(from))
    throw new Error(`an edge must leave a node by its name, or several by a list of names, not ${nameOf(from)}`);
  const all: readonly unknown[] = [from].flat();
  const at = all.findIndex((name) => typeof name !== 'string');
  if (at >= 0)
    throw new Error(
      `the list of nodes that an edge leaves must be one of names: [${String(at)}] is ${nameOf(all[at])}`,
    );
  const edge = typeof from === 'string' ? `the edge from ${placeOf(from)}` : 'the edge from several nodes';
  if (typeof to !== 'string') throw new Error(`${edge} must lead to one node by its name, not ${nameOf(to)}`);
}

/** What JavaScript lets pass: no route, and a map of targets, which LangGraph.js has. */
export function requireRoute(from: unknown, route: unknown, targets: unknown): void {
  if (typeof from !== 'string')
    throw new Error(`a conditional edge must leave a node by its name, not ${nameOf(from)}`);
  const edge = `the conditional edge from ${placeOf(from)}`;
  if (typeof route !== 'function')
    throw new Error(`${edge} must have a function that returns names of nodes, not ${nameOf(route)}`);
  if (targets === undefined || targets === null) return;
  if (!Array.isArray(targets))
    throw new Error(
      `the targets of ${edge} must be a list of the names that its function returns, not ${nameOf(targets)}`,
    );
  const at = targets.findIndex((target) => typeof target !== 'string');
  if (at >= 0)
    throw new Error(`the targets of ${edge} must be names of nodes: [${String(at)}] is ${nameOf(targets[at])}`);
}

const placeOf = (node: string): string => (node === START ? 'START' : `"${node}"`);
