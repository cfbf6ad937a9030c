;;; lsp-mode.el --- The part of emacs.el for lsp-mode -*- lexical-binding: t -*-
(require 'lsp-mode)
(setq lsp-auto-guess-root t
      lsp-enable-file-watchers nil)

(defun driver-connected ()
  (and lsp-mode (lsp-workspaces)))

(defun driver-hover ()
  (let ((contents (lsp:hover-contents (lsp-request "textDocument/hover" (lsp--text-document-position-params)))))
    (when contents (substring-no-properties (lsp--render-on-hover-content contents t)))))

(defun driver-definition ()
  (lsp-find-definition))

(defun driver-act (beginning)
  (let ((action (seq-find (lambda (it) (string-prefix-p beginning (lsp:code-action-title it))) (lsp-code-actions-at-point))))
    (unless action (error "No action %s" beginning))
    (lsp-execute-code-action action)))
