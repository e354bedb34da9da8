/** The instance that an actor belongs to, which may live below a path: what stands before `/users/<name>`. */
export function instanceOf(actor: string): string {
  // Past the host: of https://users/anna the rest would be `https:/`, which every URI begins with.
  return actor.replace(/^(https?:\/\/[^/]+(?:\/.*)?)\/users\/[^/]*$/, '$1');
}

/** Whether the actor's own instance vouches for this URI. Nobody else may say anything of what stands under it. */
export function isOfInstance(uri: string, actor: string): boolean {
  return uri.startsWith(`${instanceOf(actor)}/`);
}
