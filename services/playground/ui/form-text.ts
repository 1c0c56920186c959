/** What a form has in the box of this name, without blanks around it; empty for a file, and without the box. */
export function textIn(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
