import { useEffect } from 'preact/hooks';

/** The title of the page where nothing with a name is open. */
const { title: pageTitle } = document;

/** Puts the name of what is open in front of the title of the page, while it is. */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    document.title = name === undefined ? pageTitle : `${name} · ${pageTitle}`;
    return () => {
      document.title = pageTitle;
    };
  }, [name]);
}
