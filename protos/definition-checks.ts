import { createHash } from 'node:crypto';
import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { requireJsonSchema } from './json-schema.ts';
import { readJson } from './json-text.ts';
import type { RevisionDefinition } from './threads.ts';

type At = ErrorDetail['field'];
const at: At = ['definition'];
type Parts = Readonly<Record<string, unknown>>;

/**
 * Checks what a revision is registered with: processes without its code read it for every request to the agent.
 * @throws Invalid naming the part that no reader could use.
 */
export function refuseDefinition(given: RevisionDefinition): void {
  refuseGraph(given.graphJson, [...at, 'graphJson']);
  refuseFields(given.fieldsJson, [...at, 'fieldsJson']);
  refuseTools(given.toolsJson, [...at, 'toolsJson']);
  refuseNames(given.nodes, [...at, 'nodes']);
  const { reduced, checked } = given.codeFields;
  refuseNames(reduced, [...at, 'codeFields', 'reduced']);
  refuseNames(checked, [...at, 'codeFields', 'checked']);
}

/**
 * The SHA-256 of a definition, as hexadecimal digits. It names all of it, so that two builds that differ for callers never share a revision.
 */
export function hashOfDefinition({ graphJson, fieldsJson, toolsJson, nodes, codeFields }: RevisionDefinition): string {
  const hash = createHash('sha256');
  const { reduced, checked } = codeFields;
  for (const part of [graphJson, fieldsJson, toolsJson, toJson(nodes), toJson({ reduced, checked })])
    hash.update(`${String(part.byteLength)}\n`).update(part);
  return hash.digest('hex');
}

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** A message over the wire may lack it, or a part of it. @throws Invalid */
export function requireDefinition(given: Partial<RevisionDefinition> | undefined): void {
  if (!given) throw invalid(at, 'is required', 'missing');
  if (!given.codeFields) throw invalid([...at, 'codeFields'], 'is required', 'missing');
}

function refuseGraph(json: Uint8Array, at: At): void {
  const { nodes, edges } = toParts(readJson(json, { at, mostBytes: sizes.drawing }), at);
  for (const [index, node] of toList(nodes, [...at, 'nodes']).entries()) {
    const { id, type } = toParts(node, [...at, 'nodes', index]);
    refuseName(id, [...at, 'nodes', index, 'id']);
    refuseName(type, [...at, 'nodes', index, 'type']);
  }
  for (const [index, edge] of toList(edges, [...at, 'edges']).entries()) toParts(edge, [...at, 'edges', index]);
}

function refuseFields(json: Uint8Array, at: At): void {
  for (const [name, spec] of Object.entries(toParts(readJson(json, { at, mostBytes: sizes.drawing }), at))) {
    refuseName(name, [...at, name]);
    if (unfitNames.has(name)) throw invalid([...at, name], 'cannot be the name of a field');
    const { type, description, schema, required, callers } = toParts(spec, [...at, name]);
    if (!fieldTypes.has(type)) throw misfit([...at, name, 'type'], `one of ${[...fieldTypes].join(', ')}`);
    refuseOther(description, 'string', [...at, name, 'description']);
    refuseOther(required, 'boolean', [...at, name, 'required']);
    if (callers !== undefined && callers !== 'read') throw misfit([...at, name, 'callers'], '"read"');
    if (schema !== undefined) requireObjectSchema(schema, [...at, name, 'schema']);
  }
}

function refuseTools(json: Uint8Array, at: At): void {
  for (const [index, tool] of toList(readJson(json, { at, mostBytes: sizes.toolsTogether }), at).entries()) {
    const { name, description, parameters, remote } = toParts(tool, [...at, index]);
    refuseName(name, [...at, index, 'name']);
    refuseOther(description, 'string', [...at, index, 'description']);
    refuseOther(remote, 'boolean', [...at, index, 'remote']);
    if (parameters !== undefined) requireObjectSchema(parameters, [...at, index, 'parameters']);
  }
}

/** A schema of a field or tool is not just true or false. */
function requireObjectSchema(schema: unknown, at: At): void {
  toParts(schema, at);
  requireJsonSchema(schema, at);
}

/** A state is read as an object of JavaScript, which means something else by these names. */
const unfitNames: ReadonlySet<string> = new Set(['constructor', 'prototype']);

const fieldTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'any']);

const misfit = (at: At, kind: string): Error => invalid(at, `must be ${kind}`, 'type');

function toParts(value: unknown, at: At): Parts {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw misfit(at, 'an object');
  return value as Parts;
}

function toList(value: unknown, at: At): readonly unknown[] {
  if (!Array.isArray(value)) throw misfit(at, 'an array');
  return value;
}

function refuseNames(names: readonly string[], at: At): void {
  for (const [index, name] of names.entries()) refuseName(name, [...at, index]);
}

function refuseName(value: unknown, at: At): void {
  if (typeof value !== 'string' || value === '' || /\p{Cc}/u.test(value) || !value.isWellFormed())
    throw misfit(at, 'a text that is not empty, without control characters');
  // A key of this name sets a prototype where objects are copied: no request may have it.
  if (value === '__proto__') throw invalid(at, 'must not be "__proto__"');
}

function refuseOther(value: unknown, type: 'string' | 'boolean', at: At): void {
  if (value !== undefined && typeof value !== type) throw misfit(at, `a ${type}`);
}
