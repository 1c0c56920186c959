/** The way to a value inside a JSON value: names of fields and positions in lists. */
export type Path = readonly (string | number)[];

/** `context[2].content`, as a reader would write it. */
export const pathText = (path: Path): string =>
  path
    .map((step, at) => {
      if (typeof step === 'number') return `[${String(step)}]`;
      if (!/^[A-Za-z_$][\w$]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return at === 0 ? step : `.${step}`;
    })
    .join('');
