import type { FormField } from '../forms/schema-form.ts';
import type { Question } from './question.ts';

/** An answer that a button gives. */
export interface Choice {
  /** What the button says. */
  readonly label: string;
  /** The answer, or that of the field which the buttons are for, as JSON. */
  readonly json: string;
  readonly kind: 'approve' | 'reject' | 'other';
}

/** A question that is decided by buttons. */
export interface Decisions {
  readonly choices: readonly Choice[];
  /** The field of the form that the buttons are for: its other fields are filled in before. */
  readonly field: string;
}

/** More choices, and longer ones, are a list to choose from. */
const maxChoices = 5;
const maxLabel = 40;

const approvals = new Set(['approve', 'approved', 'accept', 'accepted', 'allow', 'confirm', 'yes', 'ok']);
const refusals = new Set(['reject', 'rejected', 'deny', 'denied', 'decline', 'declined', 'refuse']);
/** Fields of an object that say by true or false whether something may be done. */
const consents = new Set([
  ...['approve', 'approved', 'accept', 'accepted', 'allow', 'allowed', 'confirm', 'confirmed', 'agree', 'ok'],
]);
/** Fields of an object that say by a word what is to be done. */
const verdicts = new Set(['action', 'answer', 'approval', 'decision', 'response', 'verdict']);

/** The buttons of a question: of a few values to choose from, or of a yes or no; `undefined` where the answer is typed. */
export function decisionsOf({ form }: Question): Decisions | undefined {
  if (!form) return undefined;
  const fields = form.isBare ? form.fields : form.fields.filter(isDeciding);
  const [field, ...others] = fields;
  if (!field || others.length > 0) return undefined;
  const choices = choicesOf(field);
  return choices && { choices, field: field.name };
}

function isDeciding({ name, kind }: FormField): boolean {
  const known = kind === 'boolean' ? consents : kind === 'choice' ? verdicts : undefined;
  return known?.has(name.toLowerCase()) === true;
}

function choicesOf({ kind, choices = [] }: FormField): readonly Choice[] | undefined {
  if (kind === 'boolean')
    return [
      { label: 'Approve', json: 'true', kind: 'approve' },
      { label: 'Reject', json: 'false', kind: 'reject' },
    ];
  if (kind !== 'choice' || choices.length > maxChoices) return undefined;
  const all = choices.map(toChoice);
  return all.every(({ label }) => label.length <= maxLabel) ? all : undefined;
}

/** A word that is known begins with a capital letter, as all buttons do; what else the author wrote stays as it is. */
function toChoice(json: string): Choice {
  const value: unknown = JSON.parse(json);
  const text = typeof value === 'string' && value !== '' ? value : json;
  const word = text.toLowerCase();
  const kind = approvals.has(word) ? 'approve' : refusals.has(word) ? 'reject' : 'other';
  return { label: kind === 'other' ? text : text.charAt(0).toUpperCase() + text.slice(1), json, kind };
}
