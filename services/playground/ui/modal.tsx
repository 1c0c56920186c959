import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

interface ModalProps {
  readonly title: string;
  /** Called when the reader leaves it by Escape; absent where it cannot be left. */
  readonly onClose?: () => void;
  /** For its looks. */
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A dialog above the page. The browser keeps the keyboard inside it and gives the focus back when it goes. */
export function Modal({ title, onClose, class: name, children }: ModalProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const onCancel = (event: Event): void => {
    event.preventDefault();
    onClose?.();
  };
  return (
    <dialog ref={element} class={name} aria-labelledby={id} onCancel={onCancel}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
