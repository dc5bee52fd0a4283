import { Component, type ComponentChild, type FunctionComponent } from "preact";

/** A component that is redrawn only when one of its properties is another object. */
export function memo<P extends object>(draw: FunctionComponent<P>): new (props: P) => Component<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof P>;
      return [...keys].some((key) => next[key] !== this.props[key]);
    }

    override render(): ComponentChild {
      return draw(this.props) as ComponentChild;
    }
  };
}
