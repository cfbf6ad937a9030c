;;; eglot.el --- The part of emacs.el for eglot -*- lexical-binding: t -*-
(require 'eglot)

(defun driver-connected ()
  (eglot-current-server))

(defun driver-hover ()
  (let* ((answer (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams)))
         (contents (plist-get answer :contents)))
    (when contents (eglot--hover-info contents))))

(defun driver-definition ()
  (xref-find-definitions (xref-backend-identifier-at-point (xref-find-backend))))

(defun driver-act (beginning)
  "Do the code action on this line whose title has this BEGINNING, as `eglot-code-actions' offers it."
  (let* ((actions (eglot-code-actions (line-beginning-position) (line-beginning-position)))
         (action (seq-find (lambda (it) (string-prefix-p beginning (plist-get it :title))) actions)))
    (unless action (error "No action %s in %S" beginning actions))
    (if (fboundp 'eglot-execute)
        (eglot-execute (eglot-current-server) action)
      (let ((command (plist-get action :command)))
        (eglot-execute-command (eglot-current-server)
                               (intern (plist-get command :command))
                               (plist-get command :arguments))))))
