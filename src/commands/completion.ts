import { Argument, type Command } from 'commander';
import { completionScript, SHELLS, type Shell } from '../cli/completion';
import { addManual } from '../cli/manual';
import { print } from '../cli/output';

export function addCompletion(program: Command): void {
  const verb = program
    .command('completion')
    .summary('print a script that lets a shell complete verbs and options')
    .description(
      'Prints a script for bash, zsh or fish that completes verbs, options and their values. It starts nothing when it completes, and knows the verbs of this build: print it again after an upgrade.',
    )
    .addArgument(new Argument('<shell>', 'whose script').choices(SHELLS))
    .action((shell: Shell) => print(completionScript(program, shell).trimEnd()));
  addManual(verb, {
    environment: [],
    exits: { 0: 'it is on stdout', 1: 'it could not be written' },
    examples: [
      ['source <(outbox completion bash)', 'in ~/.bashrc'],
      ['source <(outbox completion zsh)', 'in ~/.zshrc, behind compinit'],
      ['outbox completion fish > ~/.config/fish/completions/outbox.fish', 'once'],
    ],
    seeAlso: ['help'],
  });
}
